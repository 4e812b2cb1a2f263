#!/bin/sh
# Starts Redis with the users of a file beside this one, such as broker.acl: start.sh broker.acl ARGUMENT...
# Redis gets digests of the passwords, which are in variables.
set -eu
digest() { printf %s "${1:?the password of a user is missing}" | sha256sum | cut -d ' ' -f 1; }
users=${TMPDIR:-/tmp}/users.acl
umask 077
sed -e "s/LARDER_DIGEST/$(digest "${LARDER_PASSWORD-}")/" \
    -e "s/SIGNING_DIGEST/$(digest "${SIGNING_PASSWORD-$LARDER_PASSWORD}")/" "$(dirname "$0")/$1" > "$users"
shift
exec redis-server --aclfile "$users" "$@"
