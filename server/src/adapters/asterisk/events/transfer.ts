import { callId, channelId } from '@offhook/contract/ids.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * BlindTransfer     Result transferer-chan [transferee-chan] [bridge] IsExternal Context Extension
 * AttendedTransfer  Result orig-transferer-chan [orig-bridge] second-transferer-chan [second-bridge] DestType
 *                   [DestBridgeUniqueid | DestApp | LocalOne-chan LocalTwo-chan | DestTransfererChannel]
 *                   [transferee-chan] [transfer-target-chan]
 *
 * Prefixes of the channels: Transferer Transferee OrigTransferer SecondTransferer TransferTarget.
 * Result: Fail Invalid "Not Permitted" Success
 */
const result = header('Result');
const transferer = header('TransfererUniqueid');
const transferee = header('TransfereeUniqueid');
const extension = header('Extension');
const first = header('OrigTransfererUniqueid');
const firstCall = header('OrigTransfererLinkedid');
const second = header('SecondTransfererUniqueid');
const secondCall = header('SecondTransfererLinkedid');
const secondConnected = header('SecondTransfererConnectedLineNum');
const target = header('TransferTargetCallerIDNum');

const blind: EventDecoder = (frame, at, d) => {
  const succeeded = need(frame, result) === 'Success';
  const by = channelId(d.node, need(frame, transferer));
  const other = frame.get(transferee);
  d.emit({
    at,
    type: 'transfer.blind',
    by,
    transferee: other === undefined ? null : channelId(d.node, other),
    to: frame.get(extension) ?? '',
    succeeded,
  });
};

const attended: EventDecoder = (frame, at, d) => {
  const succeeded = need(frame, result) === 'Success';
  const other = frame.get(transferee);
  const to = frame.get(target) ?? frame.get(secondConnected) ?? '';
  d.emit({
    at,
    type: 'transfer.attended',
    first: channelId(d.node, need(frame, first)),
    first_call: callId(d.node, need(frame, firstCall)),
    second: channelId(d.node, need(frame, second)),
    second_call: callId(d.node, need(frame, secondCall)),
    ...(other === undefined ? {} : { transferee: channelId(d.node, other) }),
    to: to === '<unknown>' ? '' : to,
    succeeded,
  });
};

export const transferEvents = {
  BlindTransfer: blind,
  AttendedTransfer: attended,
} satisfies Record<string, EventDecoder>;
