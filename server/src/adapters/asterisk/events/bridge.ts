import { bridgeId } from '@offhook/contract/ids.ts';
import type { EventDecoder } from './decoding.ts';
import { followCall, need, subject } from './decoding.ts';
import { H } from './headers.ts';

/*
 * bridge = BridgeUniqueid BridgeType BridgeTechnology BridgeCreator BridgeName BridgeNumChannels BridgeVideoSourceMode
 *
 * BridgeEnter  bridge chan [SwapUniqueid]
 * BridgeLeave  bridge chan
 *
 * BridgeType: basic, stasis, base, agent hold, parking...; BridgeTechnology holding_bridge means: waits, talks to nobody.
 */
const enter: EventDecoder = (frame, at, d) => {
  const bridge = bridgeId(d.node, need(frame, H.bridge));
  // Channels share one call only in a bridge of two talking parties; in a conference each stays in its own.
  const joins = frame.begins(H.bridgeType, 'basic') || frame.begins(H.bridgeType, 'stasis');
  const holding = frame.begins(H.bridgeTechnology, 'holding_bridge');
  const id = subject(frame, d);
  followCall(frame, at, d, id);
  if (joins)
    for (const other of d.known.channelsIn(bridge)) if (other !== id) followCall(frame, at, d, other);
  d.emit({ at, type: 'bridge.entered', bridge, id, holding });
};

const leave: EventDecoder = (frame, at, d) => {
  const bridge = bridgeId(d.node, need(frame, H.bridge));
  d.emit({ at, type: 'bridge.left', bridge, id: subject(frame, d) });
};

export const bridgeEvents = { BridgeEnter: enter, BridgeLeave: leave } satisfies Record<string, EventDecoder>;
