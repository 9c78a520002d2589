import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionState } from 'sip.js';
import type { Session } from 'sip.js';
import { CallAudio } from './call-audio.ts';

Object.assign(globalThis, { Audio: class {} });

function microphone() {
  const track = { kind: 'audio', enabled: true, stopped: false, stop: () => void (track.stopped = true) };
  const stream = { getTracks: () => [track], getAudioTracks: () => [track] } as unknown as MediaStream;
  return { track, stream };
}
/** A call whose microphone is open, and which waits for another one. */
async function waiting() {
  const [old, next] = [microphone(), microphone()];
  const opened = Promise.withResolvers<MediaStream>();
  const streams = [Promise.resolve(old.stream), opened.promise];
  const session = { state: SessionState.Established };
  const audio = new CallAudio(session as unknown as Session, {
    microphone: () => streams.shift()!,
    speaker: () => '',
    onPath: () => undefined,
  });
  await audio.openMicrophone();
  const replaced = audio.replaceMicrophone();
  return { audio, session, old, next, open: () => opened.resolve(next.stream), replaced };
}

test('phone - a microphone that opens after the call has ended is closed', async () => {
  const { audio, session, old, next, open, replaced } = await waiting();
  session.state = SessionState.Terminated;
  audio.stop();
  open();
  await replaced;
  assert.deepEqual([old.track.stopped, next.track.stopped], [true, true]);
});

test('phone - a call that is muted while another microphone opens stays muted with it', async () => {
  const { audio, old, next, open, replaced } = await waiting();
  audio.mute(true);
  open();
  await replaced;
  assert.equal(next.track.enabled, false);
  assert.deepEqual([old.track.stopped, next.track.stopped], [true, false]);
  audio.mute(false);
  assert.equal(next.track.enabled, true);
});
