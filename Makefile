# Two commands do all the set-up on a fresh Debian machine with Swift: `make run` and `make test`.
# `make help` lists the rest.

SHELL := /bin/bash
SWIFT ?= swift
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help run build demo test unit interop lint bench fuzz sanitize simulate docs media protocol venv clean

help: ## This list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

run: ## Install what is missing, build, and serve on http://localhost:8080
	@Scripts/install-packages.sh run
	@Scripts/build-release.sh
	@exec .build/release/roost serve --rooms --data .roost --sample

build: ## Build the release binary, .build/release/roost
	@Scripts/install-packages.sh run
	@Scripts/build-release.sh

demo: ## A call between two real processes, checked frame by frame, with an HTML report in demo-output/
	@Scripts/install-packages.sh demo
	@Scripts/build-release.sh
	@exec .build/release/roost demo --output demo-output

test: ## Everything: lint, unit, simulation, fuzzing, interop with real peers, end to end
	@Scripts/install-packages.sh test
	@Scripts/test.sh

unit: ## Only the Swift tests, and two seconds of fuzzing for each parser
	@Scripts/install-packages.sh test
	@Scripts/python-environment.sh
	@Scripts/test.sh unit

interop: ## Only the tests with peers that we did not write: browsers, aiortc, libdatachannel and others (COMBINATIONS=all)
	@Scripts/install-packages.sh test
	@Scripts/environments.sh
	@Scripts/test.sh interop

lint: ## Formatting, the direction of imports, documents, the sources for Apple's platforms
	@Scripts/test.sh lint

bench: ## Signaling beside python-socketio, WebRTC beside Pion, rooms beside Janus, chat beside ejabberd (ROUNDS=3)
	@Scripts/install-packages.sh bench
	@Scripts/python-environment.sh
	@Scripts/libdatachannel-environment.sh
	@Benchmarks/signaling/run.sh $${ROUNDS:-3}
	@Benchmarks/rtc/run.sh $${ROUNDS:-3}
	@Benchmarks/sfu/run.sh $${ROUNDS:-3}
	@Benchmarks/chat/run.sh $${ROUNDS:-3}

fuzz: ## An hour for each parser, as many at a time as there are cores (SECONDS_EACH=3600)
	@Scripts/install-packages.sh fuzz
	@Fuzz/run.sh all $${SECONDS_EACH:-3600}

sanitize: ## The Swift tests, and roost with its peers, under the address and the thread sanitizer
	@Scripts/install-packages.sh test
	@Scripts/environments.sh
	@Scripts/pion-peer.sh
	@Scripts/sanitize.sh

simulate: ## A nightly run: ten thousand calls and rooms (SEEDS= ROOMS= FIRST_SEED=0), query plans (MESSAGES=1000000)
	@Scripts/install-packages.sh test
	@ROOST_STRICT=1 $(SWIFT) build --product roostPackageTests
	@ROOST_STRICT=1 ROOST_SEEDS=$${SEEDS:-10000} ROOST_FIRST_SEED=$${FIRST_SEED:-0} \
		ROOST_ROOM_SEEDS=$${ROOMS:-10000} ROOST_PLAN_MESSAGES=$${MESSAGES:-1000000} \
		$(SWIFT) test --skip-build --filter 'ThousandSeedsTests|RoomSeedsTests|WatchedRoomsTests|QueryPlansTests'

media: ## Make the test media anew (they are committed; needs ffmpeg)
	@Scripts/install-packages.sh demo
	@Scripts/python-environment.sh
	@Media/make-media.sh

protocol: ## Make the Swift code of LiveKit's messages anew (it is committed; needs protoc)
	@Scripts/install-packages.sh test
	@Scripts/generate-protocol.sh

docs: ## The pages of RoostRTC's public interface (DocC)
	@Scripts/install-packages.sh run
	@Scripts/docs.sh

clean: ## Remove what was built
	rm -rf .build .venv demo-output
