FROM debian:bookworm
MAINTAINER gardener
EXPOSE harbour
CMD ["sleep"]
CMD ["collector"]
