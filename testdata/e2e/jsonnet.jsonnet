local step(name) = {
  name: name,
  image: 'busybox:1.36',
  commands: ['echo ' + name + " on ${DRONE_BRANCH} of '" + std.extVar('build.event') + "'"],
};
{
  kind: 'pipeline',
  type: 'docker',
  name: 'default',
  clone: { disable: true },
  steps: [step(n) for n in ['one', 'two']],
}
