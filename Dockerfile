# Inlay in a container: no build, since Node runs the sources as they are. Settings: docs/reference/settings.md.
#   docker build -t inlay .
#   docker run --read-only --tmpfs /tmp -v inlay-data:/data -p 4000:4000 inlay
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/analyst/package.json packages/analyst/
COPY packages/contract/package.json packages/contract/
COPY packages/sdk/package.json packages/sdk/
COPY packages/semantic/package.json packages/semantic/
COPY packages/server/package.json packages/server/
# No package that runs needs an install script.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=4000 \
    INLAY_DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY packages packages
COPY examples examples
RUN mkdir --mode=0700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=5s --retries=6 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "packages/server/src/main.ts"]
