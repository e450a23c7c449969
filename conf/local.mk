# files of conf/
