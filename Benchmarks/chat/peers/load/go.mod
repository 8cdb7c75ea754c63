// Only to say that this is a program; Debian's Go libraries are found without modules.
module load

go 1.19
