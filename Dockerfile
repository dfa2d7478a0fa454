# One image for web, worker, beat and migrate; docker-compose.yml says which of them a container is.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements.txt .
RUN pip install -r requirements.txt

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin dolphy \
    && install -d -o dolphy -g dolphy -m 0750 /data /run/dolphy
ENV PATH=/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DOLPHY_ENV=production \
    MEDIA_ROOT=/data \
    STATIC_ROOT=/srv/static
WORKDIR /app
COPY --from=build /venv /venv
COPY . .
# Production settings refuse to start without these; nothing connects while files are collected.
RUN SECRET_KEY="$(head -c 48 /dev/urandom | base64 -w 0)" ALLOWED_HOSTS=localhost \
    DATABASE_URL=postgresql://postgres/dolphy REDIS_URL=redis://valkey \
    python manage.py collectstatic --noinput
USER dolphy
EXPOSE 8000
CMD ["uvicorn", "dolphy.asgi:application", "--lifespan", "off", "--host", "0.0.0.0", "--port", "8000"]
