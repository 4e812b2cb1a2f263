from apps.jobs.claims import task
from apps.providers import lifecycle, publishing
from apps.providers.docs import replacing
from apps.providers.signatures import requests, resigning

publish_provider = task(publishing.JOB, publishing.run)
sign_release = task(requests.JOB, requests.run)
refuse_former_request = task(requests.FORMER_JOB, requests.run)
resign_provider = task(resigning.JOB, resigning.run)
verify_provider = task(lifecycle.VERIFY_JOB, lifecycle.verify_again)
read_provider_docs = task(replacing.JOB, replacing.run)
