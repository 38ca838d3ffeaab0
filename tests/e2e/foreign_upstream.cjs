// SPDX-License-Identifier: Apache-2.0
// An upstream that is not ours: the npm package `ws` with a feed that is asked for by message.
//
// usage: foreign_upstream.cjs [CERTIFICATE KEY]      with both: TLS
// A client sends {"subscribe":NAME} and gets {"channel":NAME,"event":{"id":n}} from then on, or sends
// {"subscribe":NAME,"after":n} and first gets what came after n. Ids of a name count from 1, 50 a second, from the
// first request for it on.
// First line on standard output: the port. Then one JSON object per thing that happened. Commands on standard input:
// `close CODE` closes all clients, `ping` pings them.
"use strict";
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const readline = require("node:readline");
const { WebSocketServer } = require("ws");

const [certificate, key] = process.argv.slice(2);
const server = certificate
  ? https.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
  : http.createServer();
const sockets = new WebSocketServer({ server, maxPayload: 1 << 20 });
const feeds = new Map(); // name → { head, listeners }
let clients = 0;

function tell(what) {
  process.stdout.write(JSON.stringify(what) + "\n");
}

function send(socket, name, id) {
  socket.send(JSON.stringify({ channel: name, event: { id } }));
}

function feedOf(name) {
  if (!feeds.has(name)) {
    feeds.set(name, { head: 0, listeners: new Set() });
  }
  return feeds.get(name);
}

sockets.on("connection", (socket, request) => {
  const client = { client: ++clients, path: request.url };
  tell({ event: "open", ...client, token: request.headers["x-token"] ?? null });
  socket.on("message", (data, binary) => {
    tell({ event: "message", ...client, binary, text: data.toString() });
    const { subscribe: name, after } = JSON.parse(data.toString());
    const feed = feedOf(name);
    for (let id = after + 1; id <= feed.head; id++) {
      send(socket, name, id);
    }
    feed.listeners.add(socket);
  });
  socket.on("ping", () => tell({ event: "ping", ...client }));
  socket.on("pong", () => tell({ event: "pong", ...client }));
  socket.on("error", (error) => tell({ event: "error", ...client, text: error.message }));
  socket.on("close", (code) => {
    for (const feed of feeds.values()) {
      feed.listeners.delete(socket);
    }
    tell({ event: "close", ...client, code });
  });
});

setInterval(() => {
  for (const [name, feed] of feeds) {
    feed.head += 1;
    for (const socket of feed.listeners) {
      send(socket, name, feed.head);
    }
  }
}, 20);

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [word, argument] = line.split(" ");
  for (const socket of sockets.clients) {
    word === "close" ? socket.close(Number(argument), "asked to") : socket.ping();
  }
});

server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
