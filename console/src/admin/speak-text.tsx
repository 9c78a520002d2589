/** A sound made of a text by the voice of a language. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Input, NativeSelect, Stack, Textarea } from '@mantine/core';
import { Speech } from 'lucide-react';
import { errorDetail, errorText } from '../app/error-words.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { language as ownLanguage, wordsOf } from '../app/words.ts';
import { LanguageInput } from './language-input.tsx';

const t = wordsOf('admin');
const MOST = 1_000;

interface SpeakTextProps {
  readonly id: string;
  readonly onMade: (made: { readonly sound: string; readonly seconds: number }) => void;
}
export function SpeakText({ id, onMade }: SpeakTextProps): ReactNode {
  const client = useClient();
  const [opened, setOpened] = useState(false);
  const [text, setText] = useState('');
  const [language, setLanguage] = useState<string>(ownLanguage());
  const [voice, setVoice] = useState<'female' | 'male'>('female');
  const make = useOnce({
    async mutationFn() {
      onMade(await client.sounds.speak({ text, language, voice }));
    },
  });
  if (!opened)
    return (
      <Button
        variant="default"
        leftSection={<Speech size={16} aria-hidden />}
        onClick={() => setOpened(true)}
      >
        {t('speak_text')}
      </Button>
    );
  return (
    <Stack gap="xs" w="100%">
      <Textarea
        id={`${id}.text`}
        label={t('speak_what')}
        description={t('speak_help')}
        autosize
        minRows={2}
        maxLength={MOST}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Group gap="sm" align="end">
        <LanguageInput
          id={`${id}.language`}
          label={t('speak_language')}
          description={undefined}
          error={undefined}
          withAsterisk={false}
          nullable={false}
          value={language}
          onChange={setLanguage}
        />
        <NativeSelect
          id={`${id}.voice`}
          label={t('speak_voice')}
          value={voice}
          onChange={(event) => setVoice(event.currentTarget.value === 'male' ? 'male' : 'female')}
          data={[
            { value: 'female', label: t('voice_female') },
            { value: 'male', label: t('voice_male') },
          ]}
        />
        <Button loading={make.isPending} disabled={text.trim() === ''} onClick={() => make.mutate()}>
          {t('speak_make')}
        </Button>
      </Group>
      {make.isError && (
        <Input.Error role="alert">
          {errorText(make.error)} {errorDetail(make.error)}
        </Input.Error>
      )}
    </Stack>
  );
}
