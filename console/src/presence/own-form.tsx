import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Button, Group, NativeSelect, Popover, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { OwnPresence } from '@offhook/contract/presence.ts';
import { useDraft } from '../app/draft.ts';
import { fieldsWith } from '../app/field-errors.ts';
import { formatDateTime } from '../app/format.ts';
import { serverNow } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import type { Floating } from '../app/opener.tsx';
import { useClient } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { toLocal } from '../app/local-time.ts';
import { wordsOf } from '../app/words.ts';

/** Choices for the end of a personal presence. */
const ENDS = ['never', '30', '60', '120', 'today', 'other'] as const;
type End = (typeof ENDS)[number];

/** In the format of the API; `now` is milliseconds since 1970, `other` the text of a date-time field. Null: no end. */
function endOf(end: End, other: string, now: number): string | null {
  switch (end) {
    case 'never':
      return null;
    case 'today': {
      const day = new Date(now);
      day.setHours(23, 59, 59, 0);
      return day.toISOString();
    }
    case 'other': {
      const time = Date.parse(other);
      return Number.isNaN(time) ? null : new Date(time).toISOString();
    }
    default:
      return new Date(now + Number(end) * 60_000).toISOString();
  }
}

const t = wordsOf('presence');

type Personal = OwnPresence['personal'];
const SAYS: readonly Personal[] = ['not_set', 'available', 'chat', 'away', 'xa', 'unavailable', 'dnd'];
const labelOf = (end: End): string => {
  switch (end) {
    case '30':
      return t('minutes', { n: 30 });
    case '60':
      return t('hour');
    case '120':
      return t('hours', { n: 2 });
    default:
      return t(end);
  }
};

export function OwnPresenceForm({ target, ...popover }: Floating): ReactNode {
  return (
    <Popover
      {...popover}
      position="bottom-end"
      width={320}
      trapFocus
      withinPortal
      withRoles={false}
      shadow="md"
    >
      <Popover.Target>{target}</Popover.Target>
      <Popover.Dropdown id={`${popover.id}-dropdown`} role="dialog" aria-label={t('title')}>
        <Form onDone={() => popover.onChange(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}
/** Loads the presence on open; another client may have changed it. */
function Form({ onDone }: { readonly onDone: () => void }): ReactNode {
  const client = useClient();
  const own = useQuery({
    queryKey: ['presence', 'own'],
    queryFn: ({ signal }) => client.presence.get(signal),
    staleTime: 0,
    gcTime: 0,
  });
  return <Read of={own}>{({ presence }) => <Fields said={presence} onDone={onDone} />}</Read>;
}
function Fields({ said, onDone }: { readonly said: OwnPresence; readonly onDone: () => void }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [draft, setDraft, clearDraft] = useDraft('presence.note');
  const [personal, setPersonal] = useState(said.personal);
  const [note, setNote] = useState(draft === '' ? (said.note ?? '') : draft);
  const kept = said.expires_at !== null;
  const [end, setEnd] = useState<End>(kept ? 'other' : 'never');
  const [other, setOther] = useState(toLocal(said.expires_at ?? serverNow() + 3_600_000));
  const saying = useOnce({
    mutationFn: (next: Parameters<typeof client.presence.set>[0]) => client.presence.set(next),
    onSuccess: async () => {
      clearDraft();
      await queries.invalidateQueries({ queryKey: ['presence', 'own'] });
      onDone();
    },
  });
  const text = note.trim();
  const nothing = personal === 'not_set' && text === '';
  const expires_at = nothing ? null : endOf(end, other, serverNow());
  const past = expires_at !== null && Date.parse(expires_at) <= serverNow();
  const labels = { personal: t('says'), note: t('note'), expires_at: t('ends') };
  const field = fieldsWith(saying.error, labels);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!past) saying.mutate({ personal, note: text === '' ? null : text, expires_at });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text fw={650}>{t('title')}</Text>
        <NativeSelect
          {...field('personal')}
          description={personal === 'dnd' ? t('dnd_hint') : t('from_calls')}
          value={personal}
          onChange={(event) => setPersonal(event.currentTarget.value as Personal)}
          data={SAYS.map((value) => ({ value, label: t(value) }))}
          data-autofocus
        />
        <TextInput
          {...field('note')}
          placeholder={t('note_placeholder')}
          value={note}
          maxLength={140}
          onChange={(event) => {
            setNote(event.currentTarget.value);
            setDraft(event.currentTarget.value);
          }}
        />
        {!nothing && (
          <NativeSelect
            {...field('expires_at')}
            value={end}
            onChange={(event) => setEnd(event.currentTarget.value as End)}
            data={ENDS.map((value) => ({ value, label: labelOf(value) }))}
          />
        )}
        {!nothing && end === 'other' && (
          <TextInput
            type="datetime-local"
            label={t('when')}
            value={other}
            onChange={(event) => setOther(event.currentTarget.value)}
            error={past ? t('past') : undefined}
            required
          />
        )}
        {!nothing && expires_at !== null && !past && end !== 'other' && (
          <Text size="xs" c="dimmed">
            {t('until', { time: formatDateTime(expires_at) })}
          </Text>
        )}
        {saying.isError && <Failure error={saying.error} labels={labels} />}
        <Group justify="flex-end" wrap="nowrap">
          {(said.personal !== 'not_set' || said.note !== null) && (
            <Button variant="default" mr="auto" onClick={() => saying.mutate({ personal: 'not_set' })}>
              {t('clear')}
            </Button>
          )}
          <Button type="submit" loading={saying.isPending} disabled={past}>
            {t('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
