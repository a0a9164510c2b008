#!/usr/bin/env bash
# Unpacks the newest archive of a name.
source ./lib/log.sh

newest_archive() {
  ls -t "$1"-*.tar.gz 2>/dev/null | head -n 1
}

archive="$(newest_archive "${1:-home}")"
if [ -z "$archive" ]; then
  log_failure "nothing to restore"
fi
log_message warning "overwriting from $archive"
tar -xzf "$archive"
