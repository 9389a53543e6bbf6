# The programs in one image: gateway-api, gateway-worker ROLE…, gateway-dashboard, gatewayctl.

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /build
COPY . .
# The caches belong to the builder and never reach the image, so what is built is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked -p gateway -p gateway-api -p gateway-workers -p gateway-dashboard --bins \
    && mkdir /out \
    && cp target/release/gateway-api target/release/gateway-worker target/release/gateway-dashboard target/release/gatewayctl /out/

FROM debian:12.12-slim
# Certificates for the rate providers and chain nodes; curl for the health checks.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home gateway
COPY --from=build /out/ /usr/local/bin/
USER 10001
EXPOSE 8080 8081 8082 9080
CMD ["gateway-api"]
