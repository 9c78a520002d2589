import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionState } from 'sip.js';
import type { Session } from 'sip.js';
import { CallAudio } from './call-audio.ts';

Object.assign(globalThis, { Audio: class {} });

function microphone() {
  const track = Object.assign(new EventTarget(), {
    kind: 'audio',
    enabled: true,
    stopped: false,
    stop: () => void (track.stopped = true),
  });
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
    onMicrophoneLost: assert.ifError,
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

test('phone - a microphone that is unplugged in a call is replaced by another one, or reported', async () => {
  const [old, next] = [microphone(), microphone()];
  const sent: unknown[] = [];
  const lost: unknown[] = [];
  const none = new Error('no microphone');
  const streams = [old.stream, next.stream];
  const sender = {
    track: old.track,
    replaceTrack: (track: unknown) => Promise.resolve(void sent.push(track)),
  };
  const session = {
    state: SessionState.Established,
    sessionDescriptionHandler: { peerConnection: { getSenders: () => [sender] } },
  };
  const audio = new CallAudio(session as unknown as Session, {
    microphone: async () => {
      const stream = streams.shift();
      if (stream === undefined) throw none;
      return await Promise.resolve(stream);
    },
    speaker: () => '',
    onMicrophoneLost: (error) => void lost.push(error),
    onPath: () => undefined,
  });
  await audio.openMicrophone();
  audio.mute(true);
  old.track.dispatchEvent(new Event('ended'));
  await new Promise(setImmediate);
  assert.deepEqual([sent, next.track.enabled, lost], [[next.track], false, []]);
  old.track.dispatchEvent(new Event('ended'));
  await new Promise(setImmediate);
  assert.deepEqual(lost, [], 'the end of a replaced microphone changes nothing');
  next.track.dispatchEvent(new Event('ended'));
  await new Promise(setImmediate);
  assert.deepEqual(lost, [none]);
});
