/** Fields for a number: typed, pasted, chosen by name, or entered on keys. */
import { useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { ActionIcon, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Contact } from '@offhook/contract/extensions.ts';
import { Delete } from 'lucide-react';
import { useClient, useMe } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { LETTERS, dialled, hasLetters, isName, isTone } from './number.ts';
import { wordsOf } from '../app/words.ts';
import styles from './phone.module.css';

const t = wordsOf('phone');

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'];
const NAMED = 5;
const signOf = (key: string): string => LETTERS[key] ?? '';

interface KeypadProps {
  readonly onKey: (key: string) => void;
  /** Handles the keyboard, too, while the focus is within. */
  readonly keyboard?: boolean;
}
export function Keypad({ onKey, keyboard = false }: KeypadProps): ReactNode {
  return (
    <div
      className={styles.pad}
      role="group"
      aria-label={t('keypad')}
      onKeyDown={(event) => {
        if (!keyboard || !isTone(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        onKey(event.key);
      }}
    >
      {KEYS.map((key, i) => (
        <UnstyledButton
          key={key}
          className={styles.key}
          data-autofocus={keyboard && i === 0 ? true : undefined}
          onClick={() => onKey(key)}
        >
          {`${key} `}
          <span className={styles.letters}>{signOf(key)}</span>
        </UnstyledButton>
      ))}
    </div>
  );
}

/** The number to call; `name` is empty where the directory does not have it. */
export type Chosen = (number: string, name: string) => void;
/** A text that is a number or part of a name, and its submission. */
export interface NumberInput {
  readonly value: string;
  readonly set: (value: string) => void;
  /** Appends a key pressed beside the field. */
  readonly press: (key: string) => void;
  readonly named: readonly Contact[];
  /** Reason why the submitted text places no call. */
  readonly problem: 'which' | 'nobody' | null;
  /** A name must match one person; its letters are never dialled as digits. */
  readonly submit: (then: Chosen) => Promise<void>;
}
export function useNumber(): NumberInput {
  const client = useClient();
  const { extension } = useMe();
  const queries = useQueryClient();
  const busy = useRef(false);
  const [value, setValue] = useState('');
  const [problem, setProblem] = useState<NumberInput['problem']>(null);
  const [wanted] = useDebouncedValue(value.trim(), 200);
  const query = (q: string) => ({
    queryKey: ['phone', 'names', q],
    queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
      (await client.contacts({ q, limit: NAMED + 1 }, signal)).contacts.filter(
        (contact) => contact.extension !== extension,
      ),
  });
  const asked = (q: string): boolean => (q.length >= 2 || hasLetters(q)) && dialled(q) !== extension;
  const { data } = useQuery({ ...query(wanted), enabled: asked(wanted) });
  const set = (next: string): void => {
    setValue(next);
    setProblem(null);
  };
  return {
    value,
    set,
    press: (key) => set(value + key),
    named: asked(wanted) ? (data ?? []).slice(0, NAMED) : [],
    problem,
    async submit(then) {
      const text = value.trim();
      if (text === '' || busy.current) return;
      if (!hasLetters(text)) {
        const known = queries.getQueryData<readonly Contact[]>(query(text).queryKey);
        return then(text, known?.find((contact) => contact.extension === text)?.name ?? '');
      }
      busy.current = true;
      try {
        // The suggestions may still belong to a shorter text.
        const [first, ...more] = await queries.fetchQuery(query(text));
        if (first === undefined && !isName(text)) then(text, '');
        else if (first !== undefined && more.length === 0) then(first.extension, first.name);
        else setProblem(first === undefined ? 'nobody' : 'which');
      } catch (error) {
        tellFailure(error);
      } finally {
        busy.current = false;
      }
    },
  };
}

interface NumberFieldProps {
  readonly input: NumberInput;
  /** Called on Enter, or when a name is chosen. */
  readonly onSubmit: Chosen;
  readonly label: string;
  readonly description?: string;
  readonly field?: RefObject<HTMLInputElement | null>;
}
/**
 * Accepts a number or part of a directory name. Use it in a `Stack`, which shows the names at its end, so that nothing
 * below the field moves.
 */
export function NumberField({ input, onSubmit, label, description, field }: NumberFieldProps): ReactNode {
  const own = useRef<HTMLInputElement>(null);
  const ref = field ?? own;
  const { value, set, named, problem } = input;
  const exact = named.length === 1 && named[0]?.extension === value.trim();
  return (
    <>
      <TextInput
        ref={ref}
        label={label}
        description={description}
        error={problem !== null && <span role="alert">{t(problem)}</span>}
        value={value}
        size="md"
        inputMode="tel"
        autoComplete="off"
        maxLength={64}
        data-autofocus
        onChange={(event) => set(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          void input.submit(onSubmit);
        }}
        rightSection={
          value !== '' && (
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={t('delete')}
              onClick={() => {
                set(value.slice(0, -1));
                ref.current?.focus();
              }}
            >
              <Delete size={18} aria-hidden />
            </ActionIcon>
          )
        }
      />
      {!exact && named.length > 0 && (
        <ul className={styles.matches}>
          {named.map((contact) => (
            <li key={contact.extension}>
              <UnstyledButton
                className={styles.match}
                onClick={() => onSubmit(contact.extension, contact.name)}
              >
                <Text size="sm" fw={550} truncate>
                  {contact.name}
                </Text>{' '}
                <Text size="sm" c="dimmed">
                  {contact.extension}
                </Text>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
