import { randomBytes, randomUUID } from 'node:crypto';
import { channelId } from '@offhook/contract/ids.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';

/** Names an operation before it is sent; the engine is given it as the id of the action. */
export const newOperationId = (): string => `op-${randomUUID()}`;

/**
 * Ids for a pair of channels that the engine is to make. They end as the engine's own do, in seconds and a counter, because
 * calls are put in order by that.
 */
export function newPair(node: NodeId, now: number): readonly [ChannelId, ChannelId] {
  const name = `oh-${randomBytes(6).toString('hex')}-${Math.floor(now / 1000)}`;
  return [channelId(node, `${name}.1`), channelId(node, `${name}.2`)];
}
