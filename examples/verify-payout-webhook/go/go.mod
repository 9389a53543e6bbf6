module verifypayoutwebhook

go 1.19
