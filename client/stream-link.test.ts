import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Environment } from './environment.ts';
import { StreamLink } from './stream-link.ts';

test('stream link - a frame for a socket that is closing is left out, because a browser warns of it', () => {
  const sent: string[] = [];
  const socket = Object.assign(new EventTarget(), {
    readyState: WebSocket.OPEN as number,
    send: (text: string) => void sent.push(text),
  });
  const environment: Partial<Environment> = { after: () => () => undefined, now: () => 0 };
  const link = new StreamLink(socket as unknown as WebSocket, environment as Environment, {
    onFrame: () => assert.fail(),
    onLost: () => assert.fail(),
  });
  link.send({ op: 'ping' });
  for (const state of [WebSocket.CLOSING, WebSocket.CLOSED]) {
    socket.readyState = state;
    link.send({ op: 'ping' });
  }
  assert.deepEqual(sent, ['{"op":"ping"}']);
});
