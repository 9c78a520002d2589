/** A new prompt, recorded or uploaded without leaving the form that uses it. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { Plus } from 'lucide-react';
import { Dialog } from '../app/dialog.tsx';
import { errorDetail, errorText } from '../app/error-words.ts';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { useRenewed } from './data.ts';
import { fieldLabel, kindWords } from './field-words.ts';
import { newOf } from './schema.ts';
import { SoundUpload } from './sound-upload.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

interface NewPromptProps {
  readonly id: string;
  readonly onMade: (name: string) => void;
}
export function NewPrompt({ id, onMade }: NewPromptProps): ReactNode {
  const client = useClient();
  const renew = useRenewed();
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState('');
  const [sound, setSound] = useState('');
  const title = t('new_kind', kindWords('prompt'));
  const make = useOnce({
    async mutationFn() {
      await client.config.change([
        { op: 'create', kind: 'prompt', object: { ...newOf('prompt'), name, title: name, sound } },
      ]);
      await renew();
    },
    onSuccess() {
      onMade(name);
      setOpened(false);
    },
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<Plus size={16} aria-hidden />}
        onClick={() => {
          make.reset();
          setName('');
          setSound('');
          setOpened(true);
        }}
      >
        {title}
      </Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title={title}>
        <Stack gap="sm">
          <TextInput
            id={`${id}.new.name`}
            label={fieldLabel('prompt', 'name')}
            description="a-z 0-9 _ -"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <SoundUpload
            id={`${id}.new.sound`}
            label={fieldLabel('prompt', 'sound')}
            value={sound}
            onChange={setSound}
          />
          {make.isError && (
            <Input.Error role="alert">
              {errorText(make.error)} {errorDetail(make.error)}
            </Input.Error>
          )}
          <Group justify="flex-end">
            <Button
              loading={make.isPending}
              disabled={name === '' || sound === ''}
              onClick={() => make.mutate()}
            >
              {t('create')}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}
