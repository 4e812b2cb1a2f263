#!/bin/sh
# publish.sh of Larder, version 2: publishes a module or a provider from CI, waits, and prints the page of the release.
#
#   sh publish.sh [OPTIONS] NAMESPACE/NAME/SYSTEM VERSION [ARCHIVE or FOLDER]    a module; this folder if omitted
#   sh publish.sh [OPTIONS] NAMESPACE/TYPE VERSION [FOLDER]                      a provider; dist if omitted
#
# --published-only     exit with 3 if the version awaits approval
# --report NAME=FILE   send what a scanner or a test found, as the check NAME; may be repeated
#
# LARDER_URL        Larder's public URL, which is also the audience of id tokens
# LARDER_CA_FILE    the certificate of the authority that issued Larder's, if the system does not trust it
# LARDER_WAIT       how many seconds to wait for the verdict: 600 if omitted, at most 840
# LARDER_ID_TOKEN   the id token of this run, where the vendor has no request for one (GitLab)
# LARDER_TOKEN      an API token; then no id token is exchanged
#
# Exit status: 0 if the version is published, or awaits approval by another person; 1 if it is not published; 2 if an
# argument, a variable or a program is missing; 3 if it awaits approval and --published-only was given.
# Needs curl, sed, grep and mktemp; to pack a folder also git, zip or GNU tar.

{ set +x; } 2> /dev/null # a trace would show tokens
set -eu
umask 077
LC_ALL=C TZ=UTC # for archives with the same bytes on each machine
export LC_ALL TZ
newline='
'

say() { printf '%s\n' "$*"; }

stop() { # MESSAGE [STATUS]
  printf '%s\n' "$1" >&2
  exit "${2:-1}"
}

# --- Answers ---------------------------------------------------------------------------------------------------------

texts() { # NAMES: the texts with these names in the answer, a line each
  printf '%s\n' "$answer" | grep -oE "\"($1)\": *\"([^\"\\\\]|\\\\.)*\"" |
    sed -E 's/^"[A-Za-z_]+": *"(.*)"$/\1/; s/\\(.)/\1/g'
}

first() { texts "$1" | sed -n 1p; }

refused() { # HEADLINE [NAMES]: stop with what the answer says
  said=$(texts "${2:-message|hint}")
  stop "$1$newline${said:-Larder answered $status.}"
}

# --- Requests --------------------------------------------------------------------------------------------------------

quiet_curl() { # --disable: a .curlrc that says verbose would print tokens
  curl --disable --silent --show-error --connect-timeout 20 --speed-limit 1 --speed-time 300 "$@"
}

larder_curl() {
  quiet_curl --http1.1 ${LARDER_CA_FILE:+--cacert "$LARDER_CA_FILE"} "$@"
}

is_final() { # STATUS OF CURL, STATUS OF HTTP: whether a repetition cannot help
  case $1 in
    0) ;;
    60 | 77) stop "curl does not trust the certificate of $LARDER_URL. Set LARDER_CA_FILE to the file of its authority: \
the page How to use, Certificates and proxies, has it." ;;
    2 | 3 | 26 | 37 | 58) return 0 ;;
    *) return 1 ;;
  esac
  case $2 in
    408 | 429 | 500 | 502 | 503 | 504) return 1 ;;
  esac
}

pause() { # ATTEMPT [HEAD OF THE ANSWER]: until the next attempt
  after=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9][0-9]*\).*/\1/p' "${2:-/dev/null}")
  if [ "${after:-0}" -gt 90 ]; then after=90; fi
  sleep "${after:-$((1 << $1))}"
}

request() { # METHOD PATH [WORDS OF CURL]: sets status and answer; each request can be repeated
  method=$1 path=$2 attempt=0
  shift 2
  while :; do
    attempt=$((attempt + 1)) failed=0
    : > "$work/head"
    # The token comes through a pipe: arguments are in the list of processes.
    status=$(
      printf 'header = "Authorization: Bearer %s"\n' "$token" |
        larder_curl --config - --request "$method" --dump-header "$work/head" --output "$work/answer" \
          --write-out '%{http_code}' "$@" "$LARDER_URL$path"
    ) || failed=$?
    if is_final "$failed" "$status" || [ "$attempt" -ge 6 ]; then break; fi
    pause "$attempt" "$work/head"
  done
  [ "$failed" = 0 ] || stop "$address $version is not published: curl ended with status $failed."
  answer=$(cat "$work/answer" 2> /dev/null) || answer=
}

accepted() { # METHOD PATH [WORDS OF CURL]
  request "$@"
  case $status in
    2??) ;;
    401) refused "$address $version is not published.$hint_of_401" ;;
    *) refused "$address $version is not published:" ;;
  esac
}

# --- Who publishes ---------------------------------------------------------------------------------------------------

ask_vendor() { # NAME OF THE FIELD, CREDENTIAL, WORDS OF CURL: prints the id token
  field=$1 credential=$2
  shift 2
  answer=$(printf 'header = "Authorization: Bearer %s"\n' "$credential" | quiet_curl --config - --fail --retry 3 "$@") ||
    stop "The id token of this run could not be requested."
  first "$field"
}

id_token() {
  if [ -n "${LARDER_ID_TOKEN:-}" ]; then
    say "$LARDER_ID_TOKEN"
  elif [ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ] && [ -n "${ACTIONS_ID_TOKEN_REQUEST_TOKEN:-}" ]; then
    ask_vendor value "$ACTIONS_ID_TOKEN_REQUEST_TOKEN" \
      --get --data-urlencode "audience=$LARDER_URL" "$ACTIONS_ID_TOKEN_REQUEST_URL"
  elif [ -n "${SYSTEM_OIDCREQUESTURI:-}" ] && [ -n "${SYSTEM_ACCESSTOKEN:-}" ]; then
    ask_vendor oidcToken "$SYSTEM_ACCESSTOKEN" \
      --header 'Content-Type: application/json' --data '' "$SYSTEM_OIDCREQUESTURI?api-version=7.1"
  elif [ -n "${BITBUCKET_STEP_OIDC_TOKEN:-}" ]; then
    say "$BITBUCKET_STEP_OIDC_TOKEN"
  elif [ -n "${CIRCLECI:-}" ] && command -v circleci > /dev/null; then
    circleci run oidc get --claims "{\"aud\": \"$LARDER_URL\"}"
  elif [ -n "${CIRCLE_OIDC_TOKEN_V2:-}" ]; then # with the audience that the organization has set
    say "$CIRCLE_OIDC_TOKEN_V2"
  elif [ -n "${BUILDKITE:-}" ] && command -v buildkite-agent > /dev/null; then
    buildkite-agent oidc request-token --audience "$LARDER_URL" --claim organization_id --claim pipeline_id
  else
    stop "This run has neither an id token nor LARDER_TOKEN. $(how_to_get_one)" 2
  fi
}

how_to_get_one() {
  if [ -n "${GITHUB_ACTIONS:-}" ]; then
    say "Give the job permissions: id-token: write, and contents: read."
  elif [ -n "${GITLAB_CI:-}" ]; then
    say "Give the job id_tokens: LARDER_ID_TOKEN: aud: $LARDER_URL."
  elif [ -n "${TF_BUILD:-}" ]; then
    say "Give the step env: SYSTEM_ACCESSTOKEN: \$(System.AccessToken)."
  elif [ -n "${BITBUCKET_BUILD_NUMBER:-}" ]; then
    say "Give the step oidc: audiences: [\"$LARDER_URL\"]."
  elif [ -n "${CIRCLECI:-}" ] || [ -n "${BUILDKITE:-}" ]; then
    say "The program that requests one, circleci or buildkite-agent, is not on the PATH of the job."
  else
    say "Set LARDER_ID_TOKEN to an id token with the audience $LARDER_URL, or LARDER_TOKEN to an API token."
  fi
}

exchange() { # sets token
  attempt=0
  while :; do
    attempt=$((attempt + 1)) failed=0
    id_token=$(id_token | tr -d ' \r\n') || exit
    case $id_token in
      "") exit 2 ;; # what is missing was printed
      *[!A-Za-z0-9._=-]*) stop "This run's id token is not a token: it has characters that none has." 2 ;;
    esac
    answer=$(
      printf '{"token": "%s", "address": "%s"}' "$id_token" "$address" |
        larder_curl --header 'Content-Type: application/json' --data-binary @- \
          --write-out "$newline%{http_code}" "$LARDER_URL/api/v1/trusted-publishing/token"
    ) || failed=$?
    status=${answer##*"$newline"} answer=${answer%"$newline"*}
    if is_final "$failed" "$status" || [ "$attempt" -ge 5 ]; then break; fi
    pause "$attempt"
  done
  [ "$failed" = 0 ] || stop "$address $version is not published: curl ended with status $failed."
  [ "$status" = 200 ] || refused "Larder refused the id token of this run for $address:"
  token=$(first token)
  answer=
}

# --- What is published -----------------------------------------------------------------------------------------------

is_committed() { # FOLDER: Git has files of it
  command -v git > /dev/null || return 1
  if ! git -C "$1" rev-parse --git-dir > /dev/null 2> "$work/why"; then
    grep -q 'not a git repository' "$work/why" || stop "$(cat "$work/why")" 2
    return 1
  fi
  [ -n "$(git -C "$1" ls-tree --name-only HEAD 2> /dev/null)" ]
}

pack() { # FOLDER: makes an archive, with the same bytes for the same content
  archive=$work/module.zip
  if is_committed "$1"; then
    if [ -n "$(git -C "$1" status --porcelain --untracked-files=no -- .)" ]; then
      say "The archive has the files as committed; changes in $1 are left out." >&2
    fi
    git -C "$1" archive --format=zip --output="$archive" HEAD
    return
  fi
  mkdir "$work/tree"
  cp -R "$1/." "$work/tree"
  if cmp -s "$0" "$work/tree/${0##*/}"; then rm "$work/tree/${0##*/}"; fi
  (
    cd "$work/tree"
    find . -name .git -prune -exec rm -rf {} + -o -name .terraform -prune -exec rm -rf {} +
    chmod -R u=rwX,go=rX .
    find . -type f -exec touch -t 198001020000 {} +
    find . -type l -exec touch -h -t 198001020000 {} +
    if command -v zip > /dev/null; then
      find . \( -type f -o -type l \) | sort | zip -q -X -y -D -@ "$archive"
    elif tar --version 2> /dev/null | grep -q GNU; then
      tar --sort=name --mtime=@315619200 --owner=0 --group=0 --numeric-owner -cf - . | gzip -n > "$archive"
    else
      stop "Packing $1 needs git, zip or GNU tar: install one of them, or name an archive." 2
    fi
  )
}

sha256_of() { # FILE: empty where no program computes it
  if command -v sha256sum > /dev/null; then
    sha256sum < "$1" | sed 's/ .*//'
  elif command -v shasum > /dev/null; then
    shasum -a 256 < "$1" | sed 's/ .*//'
  fi
}

send() { # FILE NAME: into the draft, unless it has these bytes already
  sha256=$(sha256_of "$1")
  if [ -n "$sha256" ] && printf '%s\n' "$files" | grep -F "\"$2\"" | grep -qF "\"sha256:$sha256\""; then
    say "Already sent: $2"
    return
  fi
  accepted PUT "$draft/files/$2" --upload-file "$1"
  if [ "$(first role)" = ignored ]; then say "Not published: $2"; else say "Sent: $2"; fi
}

manifest_of() { # FOLDER: GoReleaser does not copy it there
  for place in "$1" "$1/.." .; do
    if [ -f "$place/terraform-registry-manifest.json" ]; then
      say "$place/terraform-registry-manifest.json"
      return
    fi
  done
}

publish_provider() { # FOLDER
  stem=terraform-provider-${address#*/}_$version
  found=
  for file in "$1/${stem}_"*.zip; do
    if [ -f "$file" ]; then found=yes; fi
  done
  [ -n "$found" ] || stop "Found no ${stem}_<os>_<arch>.zip in $1. Build version $version first." 2

  send_reports
  draft=/api/v1/providers/$address/$version
  accepted POST "$draft"
  files=$(printf '%s\n' "$answer" | tr '{' '\n')
  case $(first state) in
    receiving) # an earlier run may have sent what this build does not have
      for name in $(texts name | grep -F "$stem" || true); do
        if ! [ -f "$1/$name" ] && [ "$name" != "${stem}_manifest.json" ]; then
          accepted DELETE "$draft/files/$name"
        fi
      done
      ;;
  esac
  for file in "$1/${stem}_"*; do
    if [ -f "$file" ]; then send "$file" "${file##*/}"; fi
  done
  sums=$1/${stem}_SHA256SUMS
  if ! [ -f "$1/${stem}_manifest.json" ] && { ! [ -f "$sums" ] || grep -qF "${stem}_manifest.json" "$sums"; }; then
    manifest=$(manifest_of "$1")
    if [ -n "$manifest" ]; then send "$manifest" "${stem}_manifest.json"; fi
  fi
  accepted POST "$draft/publish"
}

send_reports() { # [ARCHIVE]: before the version is published, so that it need not wait for them
  about=
  if [ -n "$reports" ] && [ -n "${1:-}" ]; then about=$(sha256_of "$1"); fi
  while IFS= read -r report; do
    [ -n "$report" ] || continue
    accepted PUT "/api/v1/$kind/$address/$version/checks/${report%%=*}${about:+?digest=sha256:$about}" \
      --upload-file "${report#*=}"
    say "Sent: the check ${report%%=*}"
  done << END
$reports
END
}

publish_module() { # ARCHIVE OR FOLDER
  archive=$1
  if [ -d "$1" ]; then pack "$1"; fi
  [ -f "$archive" ] || stop "Found no file or folder $archive, expected the module." 2
  send_reports "$archive"
  accepted PUT "/api/v1/modules/$address/$version" --upload-file "$archive"
}

# --- The verdict -----------------------------------------------------------------------------------------------------

await() {
  release=$(first id)
  page=$LARDER_URL/releases/$release
  deadline=$(($(date +%s) + LARDER_WAIT))
  if [ "$deadline" -gt "$ends" ]; then deadline=$ends; fi
  pause=1
  while :; do
    case $(first state) in
      published)
        say "Published $address $version."
        say "$LARDER_URL/$kind/$address/$version"
        exit
        ;;
      awaiting-approval)
        if printf '%s\n' "$answer" | grep -q '"approval": *null'; then
          say "$address $version passed the checks of Larder and waits for those that ${address%%/*} requires:"
          say "$page"
          exit "$unpublished"
        fi
        say "$address $version passed the checks and awaits approval. A publisher of ${address%%/*} other than its author \
approves or declines it:"
        say "$page"
        exit "$unpublished"
        ;;
      held) refused "$address $version is not published: it waits for an answer. A publisher of ${address%%/*} gives it \
on $page" sentence ;;
      rejected) refused "$address $version is not published:" sentence ;;
      failed) refused "$address $version is not published: Larder could not finish it. See $page" sentence ;;
      purged) stop "$address $version was removed: $page" ;;
    esac
    if [ "$(date +%s)" -ge "$deadline" ]; then
      stop "Larder is still checking $address $version. The release continues: $page"
    fi
    sleep "$pause"
    if [ "$pause" -lt 5 ]; then pause=$((pause + 1)); fi
    accepted GET "/api/v1/releases/$release"
  done
}

unpublished=0 reports=
while :; do
  case ${1:-} in
    --published-only) unpublished=3 ;;
    --report)
      shift
      name=${1:-}
      name=${name%%=*}
      case $name in
        "" | "${1:-}" | *[!a-z0-9._-]*) stop "Found --report ${1:-}, expected NAME=FILE, such as checkov=results.sarif." 2 ;;
      esac
      [ -f "${1#*=}" ] || stop "Found no file ${1#*=}, expected a report." 2
      reports=$reports$1$newline
      ;;
    *) break ;;
  esac
  shift
done
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  stop "Usage: sh publish.sh [--published-only] [--report NAME=FILE] NAMESPACE/NAME/SYSTEM VERSION [ARCHIVE or FOLDER]
       sh publish.sh [--published-only] [--report NAME=FILE] NAMESPACE/TYPE VERSION [FOLDER]" 2
fi
address=$1 version=$2
case $address/$version in
  *[!A-Za-z0-9_./+-]*) stop "Found $address $version, expected letters, digits and . _ + - in an address and a version." 2 ;;
esac
case $address in
  */*/*/* | /* | */ | *//* | *..*) kind= ;;
  */*/*) kind=modules ;;
  */*) kind=providers ;;
  *) kind= ;;
esac
[ -n "$kind" ] || stop "Found $address, expected NAMESPACE/NAME/SYSTEM of a module or NAMESPACE/TYPE of a provider." 2
[ -n "$version" ] || stop "The version is empty: does this run build a tag?" 2
[ -n "${LARDER_URL:-}" ] || stop "Set LARDER_URL to the public URL of Larder, such as https://registry.example.com." 2
LARDER_URL=${LARDER_URL%/}
case $LARDER_URL in
  *[!]A-Za-z0-9._:/[-]*) valid= ;;
  https://* | http://*) valid=yes ;;
  *) valid= ;;
esac
[ -n "$valid" ] || stop "Found LARDER_URL=$LARDER_URL, expected a URL such as https://registry.example.com." 2
LARDER_WAIT=${LARDER_WAIT:-600}
case $LARDER_WAIT in
  *[!0-9]* | ?????*) stop "Found LARDER_WAIT=$LARDER_WAIT, expected a number of seconds." 2 ;;
esac
for program in curl sed grep mktemp; do
  command -v "$program" > /dev/null || stop "This script needs $program: install it." 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

ends=$(($(date +%s) + 840)) # the token of a run ends after 15 minutes, and is not renewed
token=$(printf '%s' "${LARDER_TOKEN:-}" | tr -d ' \r\n')
hint_of_401=
if [ -z "$token" ]; then
  exchange
  hint_of_401=" The token of a run ends after 15 minutes: run the job again."
fi
case $token in
  "" | *[!A-Za-z0-9_-]*) stop "LARDER_TOKEN is not a token of Larder: it has characters that none has." 2 ;;
esac
unset LARDER_TOKEN LARDER_ID_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN SYSTEM_ACCESSTOKEN BITBUCKET_STEP_OIDC_TOKEN

if [ "$kind" = modules ]; then
  publish_module "${3:-.}"
else
  publish_provider "${3:-dist}"
fi
await
