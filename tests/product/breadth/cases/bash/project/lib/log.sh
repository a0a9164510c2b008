#!/usr/bin/env bash
# Messages of the backup scripts.

LOG_PREFIX="backup"

log_message() {
  local level="$1"
  shift
  printf '%s [%s] %s\n' "$LOG_PREFIX" "$level" "$*" >&2
}

log_failure() {
  log_message error "$@"
  return 1
}
