"""The functions that some supported client has, with or without `core::` before them.

Sources: `internal/lang/functions.go` of OpenTofu 1.12.6 and 1.13-dev, and of Terraform 1.11.4 to 1.16.0-rc2.
"""

from typing import Final

_NAMES = (
    "abs abspath alltrue anytrue assumeequal assumelistlength assumelistlengthmax assumelistlengthmin "
    "assumemaplength assumemaplengthmax assumemaplengthmin assumenotnull assumesetlength assumesetlengthmax "
    "assumesetlengthmin assumestringprefix base64decode base64encode base64gunzip base64gzip base64sha256 "
    "base64sha512 basename bcrypt can ceil chomp chunklist cidrcontains cidrhost cidrnetmask cidrsubnet "
    "cidrsubnets coalesce coalescelist compact concat contains convert csvdecode dirname distinct element "
    "endswith ephemeralasnull file filebase64 filebase64sha256 filebase64sha512 fileexists filemd5 fileset "
    "filesha1 filesha256 filesha512 flatten floor format formatdate formatlist indent index issensitive join "
    "jsondecode jsonencode keys length list log lookup lower map matchkeys max md5 merge min nonsensitive one "
    "parseint pathexpand plantimestamp pow range regex regexall replace reverse rsadecrypt sensitive "
    "setintersection setproduct setsubtract setunion sha1 sha256 sha512 signum slice sort split startswith "
    "strcontains strrev substr sum templatefile templatestring textdecodebase64 textencodebase64 timeadd timecmp "
    "timestamp title tobool tolist tomap tonumber toset tostring transpose trim trimprefix trimspace trimsuffix "
    "try upper urldecode urlencode uuid uuidv5 values yamldecode yamlencode zipmap "
)
FUNCTIONS: Final = frozenset(_NAMES.split())
# What is in their arguments is not judged: `try` and `can` answer also if it fails, `convert` takes a type.
UNJUDGED: Final = frozenset({"try", "can", "convert"})
