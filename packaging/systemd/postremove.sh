#!/bin/sh
# After a package was removed: systemd forgets the unit. Lists, the account and the
# settings stay.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
