module example.com/gateway/sdk/go

go 1.19
