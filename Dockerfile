# Python 3.13 on Debian 13; `make run` takes 3.11 to 3.14. A build that must be the same tomorrow names a digest:
# docker build --build-arg PYTHON=3.13-slim-trixie@sha256:… .
ARG PYTHON=3.13-slim-trixie

# --- The packages, in a virtual environment ----------------------------------------------------------------------
FROM python:${PYTHON} AS build
RUN python -m venv /venv
# requirements-extras.txt has the packages for Azure, Google Cloud, SAML, OpenTelemetry and MCP as well.
ARG REQUIREMENTS=requirements.txt
COPY ${REQUIREMENTS} requirements.txt
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.txt

# --- The bill of materials: docker build --target sbom --output . . writes sbom.json -----------------------------
FROM build AS materials
RUN pip install --no-cache-dir cyclonedx-bom==7.5.0 \
    && cyclonedx-py requirements --output-reproducible --output-file /sbom.json requirements.txt
FROM scratch AS sbom
COPY --from=materials /sbom.json /

# --- What runs ---------------------------------------------------------------------------------------------------
FROM python:${PYTHON}
LABEL org.opencontainers.image.title="Larder" \
      org.opencontainers.image.description="Private registry for OpenTofu and Terraform modules and providers" \
      org.opencontainers.image.licenses="Apache-2.0"

# gpg and gpgv for signing keys (Debian 13 packages gpgv apart), tini to reap whatever a killed child leaves behind
RUN apt-get update \
    && apt-get install -y --no-install-recommends gnupg gpgv tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 larder \
    && useradd --system --uid 10001 --gid 10001 --create-home --home-dir /home/larder larder \
    && install -d -o larder -g larder -m 700 /data

WORKDIR /app
COPY --from=build /venv /venv
COPY --chown=root:root . .
# Compiled here: the root file system may be read-only when it runs.
RUN /venv/bin/python -m compileall -q /app

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
