// Only so that Go, without modules, finds the /v3 of Debian's packages.
module load

go 1.19
