#!/bin/sh
# The roles of Larder and their passwords, from variables: the owner of the tables, web servers and workers, the signing
# worker. PostgreSQL's image runs this once, when its volume is empty; run it again after a change of a password:
#   docker compose -f compose.production.yaml exec postgres sh /docker-entrypoint-initdb.d/roles.sh
# `manage.py database_roles` decides what the roles may do.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --quiet --set ON_ERROR_STOP=1 <<'SQL'
\getenv owner DATABASE_OWNER_PASSWORD
\getenv web DATABASE_WEB_PASSWORD
\getenv signing DATABASE_SIGNING_PASSWORD
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['larder', 'larder_web', 'larder_signing']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE larder PASSWORD :'owner';
ALTER ROLE larder_web PASSWORD :'web';
ALTER ROLE larder_signing PASSWORD :'signing';
ALTER DATABASE :"DBNAME" OWNER TO larder;
-- As `manage.py migrate` does for its own role, which may not do so for others.
SELECT format('ALTER ROLE %I IN DATABASE %I SET %s = %L', role, :'DBNAME', name, value)
FROM unnest(ARRAY['larder_web', 'larder_signing']) AS role,
    (VALUES ('statement_timeout', '10s'), ('idle_in_transaction_session_timeout', '30s'), ('lock_timeout', '5s'),
        ('jit', 'off'))
    AS setting (name, value) \gexec
SQL
