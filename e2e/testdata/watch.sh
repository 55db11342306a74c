# Shows what a watch says about a change: sh watch.sh COUNT CHANGE WATCH, the last two as commands.
#
# The watch is known to be open from its log, so that nothing is missed and nobody sleeps.
count=$1 change=$2 watch=$3
rm -f log.fifo lines.fifo
mkfifo log.fifo lines.fifo
$watch -v=6 2>log.fifo >lines.fifo &
watcher=$!
exec 4<log.fifo 3<lines.fifo
while read -r line <&4; do
  case $line in *watch=true*) break ;; esac
done
cat <&4 >/dev/null &
$change >/dev/null
while [ "$count" -gt 0 ] && read -r line <&3; do
  printf '%s\n' "$line"
  count=$((count - 1))
done
# It may have ended by itself.
kill $watcher 2>/dev/null || true
