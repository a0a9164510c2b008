#!/usr/bin/env bash
# Removes old archives, as the settings of the machine say.
source "$BACKUP_SETTINGS"
keep="${BACKUP_KEEP:-7}"
for archive in $(ls -t ./*.tar.gz | tail -n +"$keep"); do
  rm -- "$archive"
done
