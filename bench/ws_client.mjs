// SPDX-License-Identifier: Apache-2.0
// node ws_client.mjs URL SECONDS: receives for SECONDS, then prints "messages bytes seconds".
import WebSocket from 'ws';

const [url, seconds] = process.argv.slice(2);
const socket = new WebSocket(url, { perMessageDeflate: false });
let messages = 0;
let bytes = 0;
let start = 0n;

socket.on('open', () => {
    start = process.hrtime.bigint();
});
socket.on('message', (data) => {
    messages += 1;
    bytes += data.length;
    if (messages % 1000 === 0) {
        const passed = Number(process.hrtime.bigint() - start) / 1e9;
        if (passed >= Number(seconds)) {
            console.log(messages, bytes, passed);
            process.exit(0);
        }
    }
});
socket.on('error', (error) => {
    console.error(error.message);
    process.exit(1);
});
