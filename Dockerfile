# The programs in one image: gateway-api, gateway-worker ROLE…, gateway-dashboard, gatewayctl. It has
# no shell; `docker compose exec api gatewayctl …` works all the same.

# The list of components (SBOM) names the crates of Cargo.lock too, which no scanner sees in a
# program.
ARG BUILDKIT_SBOM_SCAN_CONTEXT=true

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /build
# For jemalloc, the allocator of gateway-api.
RUN apt-get update && apt-get install --yes --no-install-recommends make
COPY . .
# The caches belong to the builder and never reach the image, so what is built is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked -p gateway -p gateway-api -p gateway-workers -p gateway-dashboard --bins \
    && mkdir /out \
    && cp target/release/gateway-api target/release/gateway-worker target/release/gateway-dashboard target/release/gatewayctl /out/
RUN scripts/image-tree.sh /out /image

FROM scratch
COPY --from=build /image/ /
ENV PATH=/usr/local/bin
USER 10001:10001
EXPOSE 8080 8081 8082 9080
CMD ["gateway-api"]
