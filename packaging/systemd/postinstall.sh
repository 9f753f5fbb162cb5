#!/bin/sh
# After a package was installed or upgraded: the service's account is made, and systemd
# reads the unit. The service is neither enabled nor started; an upgrade restarts it.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers /usr/lib/sysusers.d/todo-mcp.conf
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart todo-mcp.service
fi
