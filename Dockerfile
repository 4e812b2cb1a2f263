# `make image` builds it and says which version it is; docs/deployment.md shows how to push it.
# Python 3.13 on Debian 13; `make run` takes 3.11 to 3.14. The digest is of the index, which has amd64 and arm64.
ARG PYTHON=3.13-slim-trixie
ARG PYTHON_DIGEST=sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285

# --- The packages, in a virtual environment without pip ----------------------------------------------------------
FROM python:${PYTHON}@${PYTHON_DIGEST} AS build
RUN python -m venv --without-pip /venv
# requirements-extras.txt has the packages for Azure, Google Cloud, SAML, OpenTelemetry and MCP as well.
ARG REQUIREMENTS=requirements.txt
COPY ${REQUIREMENTS} requirements.txt
RUN pip --python /venv/bin/python install --no-cache-dir --require-hashes -r requirements.txt
# botocore describes more than 400 services. Larder asks S3 and KMS; botocore asks the others for credentials.
RUN find /venv/lib/python3.*/site-packages/botocore/data -mindepth 1 -maxdepth 1 -type d \
    ! -name s3 ! -name kms ! -name sts ! -name sso ! -name sso-oidc ! -name signin -exec rm -r {} +

# --- The bill of materials: docker build --target sbom --output . . writes sbom.json -----------------------------
FROM build AS materials
RUN pip install --no-cache-dir cyclonedx-bom==7.5.0 \
    && cyclonedx-py requirements --output-reproducible --output-file /sbom.json requirements.txt
FROM scratch AS sbom
COPY --from=materials /sbom.json /

# --- What runs ---------------------------------------------------------------------------------------------------
FROM python:${PYTHON}@${PYTHON_DIGEST}

# gpg and gpgv for signing keys (Debian 13 packages gpgv apart), git and ssh to publish from repositories, tini to reap
# whatever a killed child leaves behind.
# Nothing installs packages when it runs.
RUN apt-get update \
    && apt-get install -y --no-install-recommends git gnupg gpgv openssh-client tini \
    && rm -rf /var/lib/apt/lists/* \
    /usr/local/bin/pip* /usr/local/lib/python3.*/site-packages/pip* /usr/local/lib/python3.*/ensurepip \
    && groupadd --system --gid 10001 larder \
    && useradd --system --uid 10001 --gid 10001 --create-home --home-dir /home/larder larder \
    && install -d -o larder -g larder -m 700 /data

WORKDIR /app
COPY --from=build /venv /venv
COPY --chown=root:root . .
# What `git describe` says, since the image has no history. Without it the version names the files.
ARG VERSION=""
# Compiled here: the root file system may be read-only when it runs.
RUN /venv/bin/python registry_site/version.py --write "${VERSION}" && /venv/bin/python -m compileall -q /app

# In numbers: clusters that ask for runAsNonRoot cannot look a name up.
USER 10001:10001
# LARDER_PUBLIC_URL follows LARDER_TLS as long as nobody sets it: https://127.0.0.1:8443, or http://.
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    LARDER_IN_CONTAINER=on \
    LARDER_DATA_DIR=/data \
    LARDER_LISTEN=0.0.0.0:8443
# Collected at build, so that a container starts at once. Certificates and keys are made in the volume when a container
# starts, never here.
RUN python manage.py collect

VOLUME /data
EXPOSE 8443
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s CMD ["python", "-m", "registry_site.healthcheck"]
ENTRYPOINT ["tini", "--"]
CMD ["python", "manage.py", "up"]

ARG PYTHON
ARG PYTHON_DIGEST
ARG REVISION=""
ARG CREATED=""
ARG SOURCE=""
LABEL org.opencontainers.image.title="Larder" \
      org.opencontainers.image.description="Private registry for OpenTofu and Terraform modules and providers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="docker.io/library/python:${PYTHON}" \
      org.opencontainers.image.base.digest="${PYTHON_DIGEST}"
