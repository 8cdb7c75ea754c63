// Only so that Go, without modules, finds the /v3 of Debian's packages.
module pionsfu

go 1.19
