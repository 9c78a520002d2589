import { useState } from 'react';
import type { ReactNode } from 'react';
import { MultiSelect, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { EventType } from '@offhook/contract/events.ts';
import type { TopicNoun } from '@offhook/contract/stream.ts';
import type { Webhook } from '@offhook/contract/webhooks.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { useClient } from '../app/session.tsx';
import { useChange } from '../app/page-parts.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');

const TOPICS = Object.values({
  calls: 'calls',
  alerts: 'alerts',
  parking: 'parking',
  queues: 'queues',
  agents: 'agents',
  presence: 'presence',
  history: 'history',
  phonebook: 'phonebook/shared',
  trunks: 'trunks',
  config: 'config',
  system: 'system',
} satisfies Record<TopicNoun, string>);
/** Opening downwards would cover the submit button, where a click would choose an entry. */
const UPWARDS = { position: 'top' } as const;
/** The contract's table is large and contains schemas, so it is loaded when a form opens. */
const eventTypes = async (): Promise<string[]> =>
  Object.keys((await import('@offhook/contract/events.ts')).EVENT_DATA).toSorted();

interface FormProps {
  /** Null creates a webhook. */
  readonly webhook: Webhook | null;
  readonly onMade: (secret: string, id: number) => void;
  readonly onClose: () => void;
}
export function WebhookForm({ webhook, onMade, onClose }: FormProps): ReactNode {
  const client = useClient();
  const attempt = useAttempt();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [topics, setTopics] = useState<string[]>(webhook?.topics ?? []);
  const [types, setTypes] = useState<string[]>(webhook?.types ?? []);
  const known = useQuery({ queryKey: ['event-types'], queryFn: eventTypes, staleTime: Infinity });
  const change = useChange(
    async () => {
      const wanted = {
        url,
        description,
        topics,
        types: types.length === 0 ? null : (types as EventType[]),
      };
      if (webhook === null) return attempt(wanted, (options) => client.webhooks.create(wanted, options));
      await client.webhooks.change(webhook.id, wanted);
      return null;
    },
    {
      renews: ['webhooks'],
      done: () => t(webhook === null ? 'webhook_made' : 'webhook_changed'),
      onDone: (made) => {
        onClose();
        if (made !== null) onMade(made.secret, made.webhook.id);
      },
    },
  );
  const labels = {
    url: t('address'),
    description: t('description'),
    topics: t('topics'),
    types: t('event_types'),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <Dialog opened onClose={onClose} title={t(webhook === null ? 'new_webhook' : 'change_webhook')} size="lg">
      <ChangeForm
        change={change}
        submit={webhook === null ? t('make_webhook') : t('save')}
        labels={labels}
        onClose={onClose}
      >
        <TextInput
          {...field('url')}
          description={t('address_hint')}
          placeholder="https://crm.example.com/offhook"
          inputMode="url"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          data-autofocus
          required
        />
        <TextInput
          {...field('description')}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <TagsInput
          {...field('topics')}
          description={t('topics_hint')}
          placeholder={t('type_and_enter')}
          data={TOPICS}
          comboboxProps={UPWARDS}
          value={topics}
          onChange={setTopics}
          withAsterisk
        />
        <MultiSelect
          {...field('types')}
          description={t('event_types_hint')}
          placeholder={types.length === 0 ? t('every_type') : ''}
          data={known.data ?? types}
          comboboxProps={UPWARDS}
          value={types}
          onChange={setTypes}
          searchable
          clearable
        />
      </ChangeForm>
    </Dialog>
  );
}
