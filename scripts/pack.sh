#!/usr/bin/env bash
# Packs a release: the programs, and all that an operator without a clone needs to run them in
# containers or as units. Its compose file names the image of the release.
#
#   pack.sh NAME IMAGE PROGRAMS FOLDER      writes FOLDER/NAME.tar.gz
set -euo pipefail

[ $# = 4 ] || { echo "usage: pack.sh NAME IMAGE PROGRAMS FOLDER" >&2; exit 2; }
name=$1
image=$2
programs=$(cd "$3" && pwd -P)
mkdir -p "$4"
folder=$(cd "$4" && pwd -P)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tree=$folder/$name
mkdir "$tree" "$tree/scripts" "$tree/docs" "$tree/rabbitmq"
cp "$programs"/{gateway-api,gateway-worker,gateway-dashboard,gatewayctl} LICENSE-APACHE LICENSE-MIT .env.example "$tree/"
cp -r deploy "$tree/deploy"
cp rabbitmq/rabbitmq.conf rabbitmq/enabled_plugins "$tree/rabbitmq/"
cp scripts/env.sh "$tree/scripts/"
cp docs/containers.md docs/operating.md "$tree/docs/"
# Nothing is built where nothing is but programs.
sed -e "s|\${IMAGE:-gateway:local}|\${IMAGE:-$image}|" -e '/^  build: \.$/d' docker-compose.yml >"$tree/docker-compose.yml"
tar -C "$folder" -czf "$folder/$name.tar.gz" "$name"
rm -r "${tree:?}"
