# syntax=docker/dockerfile:1
# torchpick as an image: what a pipeline asks about machines, indexes and wheels.
#   docker build --tag torchpick .
#   docker run --rm torchpick --gpu "GTX 1080 Ti" --driver 580.95.05
#   docker run --rm --gpus all torchpick detect --json
# docs/docker-ci.md says how torchpick puts torch into an image of yours; that needs none of this.
FROM python:3.12-slim AS build
COPY pyproject.toml hatch_build.py README.md LICENSE /source/
COPY src /source/src
COPY compat /source/compat
COPY scripts/table /source/scripts/table
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels torchpick-cli \
    && useradd --create-home torchpick
USER torchpick
WORKDIR /home/torchpick
# The container toolkit brings the driver's libraries where these are set.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENTRYPOINT ["torchpick"]
