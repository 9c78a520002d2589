import type { Directory } from '../../ports/directory.ts';

/** The title that a queue has now; null without a queue, where the queue is gone, or where it has none. O(1). */
export const titleOf = (directory: Pick<Directory, 'queue'>, queue: string | null): string | null =>
  queue === null ? null : directory.queue(queue)?.title || null;
