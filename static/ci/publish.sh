#!/bin/sh
# ci/publish.sh NAMESPACE/NAME/SYSTEM VERSION ARCHIVE   publishes a module
# ci/publish.sh NAMESPACE/TYPE VERSION FOLDER           publishes a provider: the files of the folder
set -eu
address=$1 version=$2 files=$3

api() { # curl reads the token from a pipe, because arguments show in the list of processes
  printf 'header = "Authorization: Bearer %s"\n' "$LARDER_TOKEN" |
    curl --config - --silent --show-error --fail-with-body --retry 5 "$@"
}

texts() { # the texts with these names in the answer, a line each; all of the answer if there are none
  printf '%s\n' "$answer" | grep -oE "\"($1)\": *\"([^\"\\\\]|\\\\.)*\"" | sed -E 's/^"[a-z]+": *"(.*)"$/\1/; s/\\(.)/\1/g' |
    grep . || printf '%s\n' "$answer"
}

stop() { # with what the answer says
  echo "$address $version is not published:" >&2
  texts "$1" >&2
  exit 1
}

case $address in
  */*/*)
    answer=$(api --upload-file "$files" "$LARDER_URL/api/v1/modules/$address/$version") || stop "message|hint"
    ;;
  *)
    draft=$LARDER_URL/api/v1/providers/$address/$version
    answer=$(api --request POST "$draft") || stop "message|hint"
    for file in "$files"/*; do
      if [ -f "$file" ]; then
        answer=$(api --upload-file "$file" "$draft/files/${file##*/}") || stop "message|hint"
      fi
    done
    answer=$(api --request POST "$draft/publish") || stop "message|hint"
    ;;
esac

release=$LARDER_URL/api/v1/releases/$(texts id | head -n 1)
for _ in $(seq 600); do
  case $(texts state | head -n 1) in
    published) echo "Published $address $version." && exit ;;
    rejected | failed | held) stop sentence ;;
  esac
  sleep 1
  answer=$(api "$release") || stop "message|hint"
done
echo "Larder is still checking $address $version after ten minutes: $release" >&2
exit 1
