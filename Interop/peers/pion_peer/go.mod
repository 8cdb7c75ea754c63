// Only so that Go, without modules, finds the /v3 of Debian's packages.
module pion-peer

go 1.19
