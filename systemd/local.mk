# files of systemd/
