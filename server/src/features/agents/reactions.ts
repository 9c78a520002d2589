import type { DomainEvent } from '@offhook/contract/events.ts';
import { ABSENT, READY, chosen, pausedWith } from './membership.ts';
import type { Membership } from './membership.ts';
import type { Reconciler } from './reconcile.ts';

/** Handles every committed event, in order. Never throws and never waits: the resulting work runs in the background. */
export function createReactions(reconciler: Reconciler): (event: DomainEvent) => void {
  const note = (
    event: DomainEvent,
    agent: { extension: string; queue?: string | null | undefined },
    state: Membership,
  ): void => {
    const { extension, queue } = agent;
    if (queue == null) return;
    reconciler.onAgentEvent({ extension, queue, state, observed: event.observed, at: event.at });
  };
  return (event) => {
    switch (event.type) {
      case 'engine.resynced':
        return reconciler.onResynced(event.data.node, event.data.boot_id, event.at);
      case 'engine.link_down':
        return reconciler.onLinkDown();
      case 'agent.logged_in':
      case 'agent.ready':
        return note(event, event.data, READY);
      case 'agent.logged_out':
        return note(event, event.data, ABSENT);
      case 'agent.not_ready':
        return note(event, event.data, chosen(pausedWith(event.data.reason)));
      default:
        return undefined;
    }
  };
}
