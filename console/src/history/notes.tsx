import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { useAttempt } from '../app/attempt.ts';
import { useDraft } from '../app/draft.ts';
import { tellFailure } from '../app/tell.ts';
import { formatDateTime } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMay, useMe } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { isTaken } from './filters.ts';
import { wordsOf } from '../app/words.ts';
import styles from './conversation.module.css';

const t = wordsOf('conversation');
const say = wordsOf('history');

const MOST = 2_000;
interface Props {
  readonly conversation: Conversation;
  /** Without it, the form is left out: the service would refuse it. */
  readonly mayAdd: boolean;
}
export function Notes({ conversation: { id, notes }, mayAdd }: Props): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const supervisor = useMay('supervisor');
  const [text, setText, clear] = useDraft(`note.${id}`);
  const attempt = useAttempt();
  const empty = text.trim() === '';
  const shown = (): Promise<void> => queries.invalidateQueries({ queryKey: ['conversation'] });
  const add = useOnce({
    async mutationFn() {
      await attempt([id, text], (options) => client.conversations.addNote(id, text.trim(), options));
      return text;
    },
    async onSuccess(sent) {
      await shown();
      clear(sent);
    },
  });
  const remove = useOnce({
    mutationFn: (note: number) => client.conversations.removeNote(id, note),
    onSuccess: shown,
  });
  const error = add.error ?? remove.error;
  return (
    <Stack gap="sm">
      {notes.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('no_notes')}
        </Text>
      ) : (
        <ul className={styles.plain} aria-label={t('notes')}>
          {notes.map((note) => (
            <li key={note.id} className={styles.note}>
              <div>
                <Text size="sm" className={styles.text ?? ''} dir="auto">
                  {note.text}
                </Text>
                <Text size="xs" c="dimmed">
                  {t('set_by', { by: note.by, at: formatDateTime(note.at) })}
                </Text>
              </div>
              {(supervisor || note.by === me.extension) && (
                <QuietIcon aria-label={t('remove_note')} onClick={() => remove.mutate(note.id)}>
                  <Trash2 size={16} aria-hidden />
                </QuietIcon>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayAdd && (
        <Textarea
          label={t('note')}
          description={t('note_hint')}
          autosize
          minRows={2}
          maxRows={10}
          maxLength={MOST}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !empty) add.mutate();
          }}
        />
      )}
      {error !== null && <Failure error={error} />}
      {mayAdd && (
        <Group justify="flex-end">
          <Button onClick={() => add.mutate()} loading={add.isPending} disabled={empty}>
            {t('add_note')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
export function Outcome({ conversation: { id, outcome }, mayAdd }: Props): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [code, setCode] = useState(outcome?.code ?? '');
  const [text, setText, clear] = useDraft(`outcome-text.${id}`);
  const bad = code !== '' && !isTaken('outcome', code);
  const set = useOnce({
    async mutationFn() {
      await client.conversations.setOutcome(id, { code, text: text.trim() });
      return text;
    },
    async onSuccess(sent) {
      clear(sent);
      notifications.show({ message: t('outcome_set') });
      await queries.invalidateQueries({ queryKey: ['conversation'] });
    },
    onError: tellFailure,
  });
  return (
    <Stack gap="sm">
      {outcome !== null && (
        <div>
          <Text size="sm" fw={600}>
            {outcome.code}
          </Text>
          {outcome.text !== '' && (
            <Text size="sm" className={styles.text ?? ''} dir="auto">
              {outcome.text}
            </Text>
          )}
          <Text size="xs" c="dimmed">
            {t('set_by', { by: outcome.by, at: formatDateTime(outcome.at) })}
          </Text>
        </div>
      )}
      {mayAdd && (
        <>
          <Group align="start" gap="sm" wrap="nowrap">
            <TextInput
              label={t('outcome_code')}
              value={code}
              maxLength={64}
              error={bad && say('not_taken')}
              description={t('outcome_hint')}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              autoComplete="off"
              spellCheck={false}
              flex="1 1 0"
              onChange={(event) => setCode(event.currentTarget.value.trim())}
            />
            <TextInput
              label={t('outcome_text')}
              value={text}
              maxLength={MOST}
              flex="1 1 0"
              onChange={(event) => setText(event.currentTarget.value)}
            />
          </Group>
          <Group justify="flex-end">
            <Button
              variant="default"
              onClick={() => set.mutate()}
              loading={set.isPending}
              disabled={code === '' || bad}
            >
              {t('set_outcome')}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}
