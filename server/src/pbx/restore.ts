/** State at the start of the model: the site, and everything the journal left open. */
import type { CallId, ChannelId, OfferId } from '@offhook/contract/ids.ts';
import { newAgent } from './agents.ts';
import { NO_ANSWER } from './agent-reasons.ts';
import type { OpenFacts, PublishedAgent } from './facts.ts';
import { RING } from './presence.ts';
import { addOffer } from './queues.ts';
import { readParked, slotKey } from './slots.ts';
import { emptyState } from './state.ts';
import type { Agent, State } from './state.ts';

/** Empty state with the site and everything the journal left open. */
export function begin(before: State, facts: OpenFacts): State {
  const presence_version = before.presence_version + RING + 1;
  // The status that persons set and their apps come from the service and survive a restart of the engine.
  const s: State = {
    ...emptyState(),
    first: before.first,
    presence_version,
    as_of: before.as_of,
    said: before.said,
    wakeable: before.wakeable,
  };
  for (const [id, published] of facts.calls) {
    const aliases = published.aliases as CallId[];
    s.calls.set(id as CallId, {
      id: id as CallId,
      started: true,
      started_at: published.started_at,
      answered_at: published.answered_at,
      channels: [],
      first_leg: null,
      numbers: published.numbers,
      direction: published.direction,
      extensions: published.extensions,
      aliases,
      cause: null,
      customer: published.customer,
      known: published.known,
      ring: null,
      transfer: '',
    });
    for (const leg of published.legs.values()) {
      s.publishedLegs.set(leg.leg_id as ChannelId, { call_id: id, leg });
    }
    for (const alias of aliases) s.aliases.set(alias, id as CallId);
  }
  for (const [leg, times] of facts.legTimes) s.publishedLegTimes.set(leg, times);
  for (const id of facts.ended) s.ended.add(id as CallId, before.as_of);
  for (const [leg, visit] of facts.visits) s.publishedVisits.set(leg, visit);
  for (const published of facts.parked.values()) {
    const parked = readParked(published);
    s.parked.set(slotKey(parked.node, parked.slot), parked);
  }
  for (const [key, member] of facts.members) s.publishedMembers.set(key, { ...member });
  for (const [extension, presence] of facts.presence) s.publishedPresence.set(extension, presence);
  for (const [name, trunk] of facts.trunks) s.publishedTrunks.set(name, trunk);
  for (const [name, to] of facts.switches) s.publishedSwitches.set(name, to);
  for (const [name, published] of facts.signed) s.publishedSigned.set(name, published);
  for (const [extension, published] of facts.agents) s.agents.set(extension, resumed(s, published));
  for (const [id, published] of facts.offers) {
    const [, callerNode, caller, agentNode, agent] = id.split(':');
    addOffer(s, {
      id: id as OfferId,
      queue: published.queue,
      interface: '',
      extension: published.extension,
      member: published.member,
      caller: `${callerNode}:${caller}` as ChannelId,
      agent: `${agentNode}:${agent}` as ChannelId,
      call: published.call,
      created_at: published.created_at,
      answered: false,
      picked_up_by: null,
    });
  }
  return s;
}

/** Agent with the state of its newest event in the journal. */
function resumed(
  s: State,
  { summary, talking_since, joined = false, picked_up = false }: PublishedAgent,
): Agent {
  const { extension, readiness, engagement, pending, pending_reason, queue, deadline } = summary;
  const since = Date.parse(summary.since);
  const call = summary.call_id as CallId | null;
  const place = queue === null || call === null ? null : { queue, call };
  const talking = engagement === 'talking' || engagement === 'held';
  return {
    ...newAgent(s, extension, since),
    readiness: {
      reason: readiness.reason ?? '',
      since: readiness.since === null ? since : Date.parse(readiness.since),
      source: readiness.source,
    },
    pending: pending === null ? null : { to: pending, reason: pending_reason, source: null },
    wrap:
      engagement === 'wrap_up' && place !== null && deadline !== null
        ? { ...place, since, deadline: Date.parse(deadline), talk_seconds: 0, published: true, held: true }
        : null,
    resumed:
      talking && place !== null
        ? { ...place, since: talking_since ?? since, transfer: joined ? 'joined' : null, picked_up }
        : null,
    away: engagement === 'unreachable',
    not_responding: summary.not_responding ? (readiness.reason === NO_ANSWER ? 'held' : 'published') : 'no',
    summary,
    published: summary,
  };
}
