#!/usr/bin/env bash
# Copies a folder to a dated archive.
source ./lib/log.sh

archive_name() {
  printf '%s-%s.tar.gz\n' "$(basename "$1")" "$(date +%Y-%m-%d)"
}

make_archive() {
  local folder="$1"
  local target
  target="$(archive_name "$folder")"
  if [ ! -d "$folder" ]; then
    log_failure "no such folder: $folder"
    return 1
  fi
  log_message info "writing $target"
  tar -czf "$target" "$folder"
}

make_archive "${1:-.}"
