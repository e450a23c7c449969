# files of docs/
