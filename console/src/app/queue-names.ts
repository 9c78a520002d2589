import type { ConversationSummary } from '@offhook/contract/conversations.ts';

/** An event of an earlier version has no titles. */
type Queues = Pick<ConversationSummary, 'queues'> & Partial<Pick<ConversationSummary, 'queue_titles'>>;

/** What people call a queue of this conversation: its title, else its key. */
export const queueName = ({ queues, queue_titles }: Queues, queue: string): string =>
  queue_titles?.[queues.indexOf(queue)] ?? queue;
export const queueNames = (c: Queues): readonly string[] => c.queues.map((queue) => queueName(c, queue));
