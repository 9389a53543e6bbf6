module verifyipn

go 1.19
