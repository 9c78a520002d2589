import type { ConversationSummary } from '@offhook/contract/conversations.ts';

/** Events of an earlier version have no titles. */
type Queues = Pick<ConversationSummary, 'queues'> & Partial<Pick<ConversationSummary, 'queue_titles'>>;

/** Title of a queue of this conversation, else its key. */
export const queueName = ({ queues, queue_titles }: Queues, queue: string): string =>
  queue_titles?.[queues.indexOf(queue)] ?? queue;
export const queueNames = (c: Queues): readonly string[] => c.queues.map((queue) => queueName(c, queue));
